"""An example of a plug-in of nbest: one of each family."""

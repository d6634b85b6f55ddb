"""What makes candidates: a protocol, and external commands. Systems of `nbest.systems` are decoders, too."""

from nbest.decoders.base import Decoder, describe_decoder, in_folder
from nbest.decoders.command import CommandDecoder

__all__ = ["CommandDecoder", "Decoder", "describe_decoder", "in_folder"]

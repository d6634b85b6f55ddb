"""What makes candidates: a protocol, external commands, and the systems of `nbest train`."""

from nbest.decoders.base import Decoder, describe_decoder, in_folder
from nbest.decoders.command import CommandDecoder
from nbest.decoders.systems import SystemDecoder, is_system

__all__ = ["CommandDecoder", "Decoder", "SystemDecoder", "describe_decoder", "in_folder", "is_system"]

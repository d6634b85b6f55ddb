"""An accelerator: arrays on its memory and kernels in Triton. Needs the extra `gpu`; nothing else imports PyTorch."""

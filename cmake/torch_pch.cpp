// This file is empty. Its target builds the precompiled header that all LibTorch sources share: see tenon_use_torch.

B
V2_scalarsJ ˆ·¾
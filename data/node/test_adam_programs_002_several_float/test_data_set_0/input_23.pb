B
H_beside_VJŸ}@mEÓ?àµ@S?
B
V_scalar_1JÌ∫èΩ
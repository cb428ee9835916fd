BX1_new_twin_laterJ0Γ°έ TS>+Òδ?Yb>‰$αi8f>Ίnªνθ@> ’WΖ^>72F
A>
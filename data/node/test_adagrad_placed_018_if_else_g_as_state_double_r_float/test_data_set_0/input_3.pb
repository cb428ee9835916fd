BG1_rearrangedJ GWÿω?X
x&•π?μάς7@σ?ζb%„‡Αχ?
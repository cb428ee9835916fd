B
H_new_lateJœ×«?­]B?kæ@¸`i?
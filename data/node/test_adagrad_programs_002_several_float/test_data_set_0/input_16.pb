B
X_beside_HJ¼‘—>´þÄ?¬A½F=¾
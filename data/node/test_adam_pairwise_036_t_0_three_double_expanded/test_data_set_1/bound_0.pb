BX1_newJ∆pPÍ„|;÷[¨$R
t;
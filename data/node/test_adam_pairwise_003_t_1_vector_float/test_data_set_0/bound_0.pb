BX_newJ87t6Ôa=€ş“á>^=ºãèˆ½Kj=óÌ(!á½g=÷ WÊpum=rß’÷X=á
dMLQw=
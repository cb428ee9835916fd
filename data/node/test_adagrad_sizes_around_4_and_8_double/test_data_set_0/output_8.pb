BH2_newJ YVusyL
@ÛtrÜ÷@fèD@¶ÂeE @
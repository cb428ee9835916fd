BX1_new_twin_sameJ0∂Æ`ú„A“<0jWª¿<‹∆•Éâm÷<Î7¨M◊4Õ<¬;`Cyn‘<ø*
É«<
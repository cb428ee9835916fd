BX_newJ
fÐyÂM>ú$ «à>š{xX >
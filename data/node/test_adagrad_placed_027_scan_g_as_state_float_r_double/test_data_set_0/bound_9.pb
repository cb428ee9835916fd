BX2_new_twin_laterJ µIlK›‰›>"
΄>s>_e£>ύτF™M©>
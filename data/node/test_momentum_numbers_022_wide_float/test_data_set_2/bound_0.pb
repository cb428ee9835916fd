BX_newJ þzMçI×u>
ª*O—Æu>m÷¿½xw>5Iºé}0w>
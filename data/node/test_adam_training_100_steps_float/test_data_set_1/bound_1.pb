BX_newJ╒йwWYпл>L
s~у>7╠s!/у>
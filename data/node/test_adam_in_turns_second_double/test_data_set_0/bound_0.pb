BX_newJ Н??{ v>
I’$ќаZ>`Q&mѓ>T}юбnЄL>
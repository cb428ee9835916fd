BH8J8\
“E‚B7Ή%ΆbBRBrΗΟrBθνKY
cB.όv‰―ώ}B+?ζγχB°ζ‹B
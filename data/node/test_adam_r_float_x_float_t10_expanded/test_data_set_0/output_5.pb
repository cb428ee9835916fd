BH2_newJ
K"@1­.?E©æ?
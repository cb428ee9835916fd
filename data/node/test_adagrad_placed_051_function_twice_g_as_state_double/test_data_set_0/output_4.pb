BH1_negativeJ À®y›N¥Õ¿Ü7Š_œò¿´<#ÄMíø¿þgŸ
ggÿ¿
BH_newJ0Rø¢ÎmØB#>ÃP(yŒBÒ®x-duˆBÓò ÄùnBAUKyåÄ•BÃ1
¯ÌŽB
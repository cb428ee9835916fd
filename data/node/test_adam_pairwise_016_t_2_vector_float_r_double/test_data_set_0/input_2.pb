BXJ_Ë
»ö]*…*Hö…QöÆH¡€Ï…RO∑I)p~I
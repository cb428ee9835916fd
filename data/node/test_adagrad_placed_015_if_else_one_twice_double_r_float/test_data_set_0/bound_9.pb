BX1_new_twin_laterJ0Y5d
zIN>Ð‰i6£#>Ò*õt#pE>Ô]5—™+<>dbóuÉå(>^<aý'D>
BHJ8ÖFìL
prBp>&
[„BÌ²†BŒbÉ]Ð.mB¦âÝAuB‹Â¬Sò¶†B9ávøF‹B
BH2_newJ )ƒzOs°J?S¢¢קנnY?)XMשתC^?…“
#/:?
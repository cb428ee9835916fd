B
V_negativeJ+f®>û|¿›`b?ô¶?
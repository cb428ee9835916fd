BH_newJ dCuX
Á<³Ê=©zÏ<9~!ùY„Ä</Ék_›DÐ<
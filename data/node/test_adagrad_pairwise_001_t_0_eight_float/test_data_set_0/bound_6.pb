BX7_newJà
×.'P=
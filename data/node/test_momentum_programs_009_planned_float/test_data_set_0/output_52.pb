BV_new_opposite_1Jÿb±¿š
¥='y¾êx¿
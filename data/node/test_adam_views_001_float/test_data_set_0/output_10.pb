BV_new_X_expandedJœþÆ=%º>?~%W¾Š?ž>öÝ©>;é
?
B	H1_new_atJ F4znÌ¶>Š¼m†>„Nýæ
®>cS9°u´½>
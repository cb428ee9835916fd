BH_newJTZЖtъч№>dЇpшЫі>гЏ
q„В>
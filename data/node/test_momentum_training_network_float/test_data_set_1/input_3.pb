BtargetJg?mÀ¿Š
²?
B
H_beside_XJÜ†?zU@3ß*?ÊØ>
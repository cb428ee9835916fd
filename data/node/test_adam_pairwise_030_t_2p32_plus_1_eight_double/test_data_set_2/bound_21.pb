BH6_newJ0~cиO”љN?ј‘
' Fd?чtаU8іe?}—ЈЌ†~P?waп8j?•Е–ытUM?
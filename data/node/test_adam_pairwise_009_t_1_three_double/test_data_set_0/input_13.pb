BH3J¶1ÍŽJ‡BÔE
n˜qB5GÛ\VB
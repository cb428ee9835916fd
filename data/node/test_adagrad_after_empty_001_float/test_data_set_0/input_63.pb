B
X2_scalarsJู่ฌฟ
BX2_new_againJЋїїzвкї=mїXю
ї
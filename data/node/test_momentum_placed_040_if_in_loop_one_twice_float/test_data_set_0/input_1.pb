BX1_rearrangedJтн>г1•ї“µA?=ѓч>%#уїО
б>
BH2_new_twin_negativeJ ôãT¸“±>
'ihþÑ°>"jÂ¼»>HC¸ÚpÌ„>
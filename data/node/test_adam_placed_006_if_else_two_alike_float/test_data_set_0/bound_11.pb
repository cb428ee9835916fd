BH2_new_negativeJ ôãT¸“±>
'ihþÑ°>"jÂ¼»>HC¸ÚpÌ„>
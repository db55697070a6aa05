package attribute

// SizeBytes returns the size DynamoDB counts for the value alone, without its attribute name.
func (v Value) SizeBytes() int {
	switch v.Kind {
	case S, B:
		return len(v.Text)
	case N:
		return v.Number.sizeBytes()
	case BOOL, NULL:
		return 1
	case L:
		size := 3
		for _, e := range v.List {
			size += 1 + e.SizeBytes()
		}
		return size
	case M:
		size := 3
		for name, e := range v.Map {
			size += 1 + len(name) + e.SizeBytes()
		}
		return size
	}
	size := 0
	for _, m := range v.Set {
		size += m.SizeBytes()
	}
	return size
}

// SizeBytes returns the size DynamoDB counts for the item: names and values. It is 0 for a nil item.
func (it Item) SizeBytes() int {
	size := 0
	for name, v := range it {
		size += len(name) + v.SizeBytes()
	}
	return size
}

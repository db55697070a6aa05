package model

import "testing"

func TestImagesKeyStandsForTheSetOfImages(t *testing.T) {
	key := func(ids ...string) string {
		var s ClassStatus
		for _, id := range ids {
			s.Images = append(s.Images, Image{ID: id})
		}
		return s.ImagesKey()
	}
	if key() != "" {
		t.Errorf("no images have the key %q", key())
	}
	if a, b := key("ami-1", "ami-2"), key("ami-2", "ami-1", "ami-2"); a != b || a == "" {
		t.Errorf("the same images have the keys %q and %q", a, b)
	}
	if a, b := key("ami-1", "ami-2"), key("ami-1"); a == b {
		t.Errorf("other images have the same key %q", a)
	}
}

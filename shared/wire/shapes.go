package wire

import (
	"crypto/sha256"
	"encoding/json"

	"github.com/joiner-sh/joiner/shared/model"
)

// Shapes is the dictionary of pod shapes: equal shapes get the same number. The zero value is empty and ready. It is
// for one goroutine at a time.
type Shapes struct {
	number map[[sha256.Size]byte]int
	shapes []*model.PodShape // by number
}

// Intern returns the number of the shape, adding it where it is new, and the one copy that all its equals share. The
// shape must not be written to afterwards.
func (s *Shapes) Intern(shape *model.PodShape) (int, *model.PodShape) {
	key := digest(shape)
	if n, ok := s.number[key]; ok {
		return n, s.shapes[n]
	}
	if s.number == nil {
		s.number = make(map[[sha256.Size]byte]int)
	}
	n := len(s.shapes)
	s.number[key] = n
	s.shapes = append(s.shapes, shape)
	return n, shape
}

// Len returns how many shapes there are.
func (s *Shapes) Len() int { return len(s.shapes) }

// At returns the shape of a number, which must not be written to.
func (s *Shapes) At(number int) *model.PodShape { return s.shapes[number] }

// From returns copies of the shapes numbered first and up, in order; nil where there are none.
func (s *Shapes) From(first int) []model.PodShape {
	var out []model.PodShape
	for i := first; i < len(s.shapes); i++ {
		out = append(out, *s.shapes[i])
	}
	return out
}

// digest identifies a shape by content. JSON writes maps in key order, so equal shapes have equal bytes; a shape holds
// nothing JSON cannot write. A weaker hash could give one pod another's needs.
func digest(shape *model.PodShape) [sha256.Size]byte {
	data, err := json.Marshal(shape)
	if err != nil {
		panic("wire: a pod shape is plain data: " + err.Error())
	}
	return sha256.Sum256(data)
}

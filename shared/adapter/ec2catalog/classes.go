package ec2catalog

import (
	"sync"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
)

// Classes are what the selectors of classes mean.
type Classes struct {
	*source

	mutex      sync.Mutex
	parameters map[string]parameter
	resolved   map[string]resolved // by UID and generation
}

// resolved is what a class meant when it was last looked up. It is shared and not written to.
type resolved struct {
	status model.ClassStatus
	readAt time.Time
}

// parameter is an SSM parameter as last read; an empty value means that it does not exist.
type parameter struct {
	value  string
	readAt time.Time
	doubt  bool // it names an image that is no longer the one to use: read again before it is believed
}

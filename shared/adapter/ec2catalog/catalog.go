package ec2catalog

import "time"

// Catalog is one region seen with one cluster's permissions. It is safe for concurrent use.
type Catalog struct {
	*Types
	*Classes
	InstanceProfiles
}

// New returns a catalog that has read nothing yet.
func New(clients Clients, settings Settings) *Catalog {
	if settings.Now == nil {
		settings.Now = time.Now
	}
	from := &source{clients, settings}
	return &Catalog{
		Types:            &Types{source: from},
		Classes:          &Classes{source: from, parameters: map[string]parameter{}, resolved: map[string]resolved{}},
		InstanceProfiles: InstanceProfiles{from},
	}
}

package shape

import (
	"encoding/xml"
	"strconv"
	"strings"

	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// element is a parsed XML element.
type element struct {
	XMLName  xml.Name
	Text     string    `xml:",chardata"`
	Children []element `xml:",any"`
}

// answer evaluates the XML a Query service answers with.
func (j *evaluate) answer(r *ref, e wire.Exchange) {
	var root element
	if err := xml.Unmarshal([]byte(e.Response), &root); err != nil {
		j.fault("answer", "is no XML: %v", err)
		return
	}
	if root.XMLName.Local != e.Action+"Response" {
		j.fault("answer", "is a %s", root.XMLName.Local)
	}
	var members []element
	for _, child := range root.Children {
		switch {
		case child.XMLName.Local == "requestId" || child.XMLName.Local == "ResponseMetadata":
		case j.model.Metadata.Protocol == "ec2" && child.XMLName.Local == "return": // answered where the model has no answer
		case j.model.Metadata.Protocol == "query" && child.XMLName.Local == e.Action+"Result":
			members = append(members, child.Children...)
		default:
			members = append(members, child)
		}
	}
	if r != nil {
		j.element("answer", r, element{Children: members})
	} else if len(members) > 0 {
		j.fault("answer", "has members, and the operation answers nothing")
	}
}

func (j *evaluate) element(path string, r *ref, e element) {
	s := j.shape(r)
	switch s.Type {
	case "structure":
		j.elementMembers(path, s, e)
	case "list":
		name := "member"
		if s.Member.LocationName != "" {
			name = s.Member.LocationName
		}
		for i, child := range e.Children {
			if child.XMLName.Local != name {
				j.fault(path, "holds a %s, not a %s", child.XMLName.Local, name)
				continue
			}
			j.element(path+"["+strconv.Itoa(i)+"]", s.Member, child)
		}
		if strings.TrimSpace(e.Text) != "" {
			j.fault(path, "has the text %q, and is a list", e.Text)
		}
	default:
		if len(e.Children) > 0 {
			j.fault(path, "has members, and is a %s", s.Type)
			return
		}
		j.scalar(path, s, e.Text)
	}
}

func (j *evaluate) elementMembers(path string, s *shape, e element) {
	known := map[string]ref{}
	for name, member := range s.Members {
		if member.LocationName != "" {
			name = member.LocationName
		}
		known[name] = member
	}
	seen := map[string]bool{}
	for _, child := range e.Children {
		name := child.XMLName.Local
		member, ok := known[name]
		switch flat := ok && (member.Flattened || j.shape(&member).Flattened); {
		case !ok:
			j.fault(path+"."+name, "is no member")
		case seen[name] && !flat:
			j.fault(path+"."+name, "is there twice")
		case flat:
			j.element(path+"."+name, j.shape(&member).Member, child)
		default:
			j.element(path+"."+name, &member, child)
		}
		seen[name] = true
	}
	if strings.TrimSpace(e.Text) != "" {
		j.fault(path, "has the text %q, and is a structure", e.Text)
	}
}

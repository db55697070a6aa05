package userdata

import (
	"strings"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// customParts returns the class's own user data as parts, in their order; none where there is no user data.
func customParts(class model.Class) ([]part, error) {
	text := strings.ReplaceAll(class.UserData, "\r", "")
	trimmed := strings.TrimSpace(text)
	switch {
	case trimmed == "":
		return nil, nil
	case strings.HasPrefix(trimmed, "MIME-Version:"), strings.HasPrefix(trimmed, "Content-Type:"):
		parts, err := readParts(trimmed + "\n")
		return parts, fault.Wrap(fault.Invalid, "InvalidUserData", err,
			"spec.userData of EC2NodeClass %s begins like a MIME document and is not one; correct it, or give a plain script or NodeConfig", class.Name)
	case strings.HasPrefix(trimmed, "#cloud-config"):
		return []part{newPart(cloudConfigType, trimmed+"\n")}, nil
	case looksLikeNodeConfig(trimmed):
		return []part{newPart(nodeConfigType, text)}, nil
	}
	return []part{newPart(shellType, text)}, nil
}

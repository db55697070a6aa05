package world

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
)

// launchable reports whether launches find a launch template: it is there, and was not made a moment ago.
func (f *Fleet) launchable(name string) bool {
	t, exists := f.templates[name]
	return exists && f.now().Sub(t.made) >= f.options.TemplateLag
}

// launchableIn returns after how long launches find all of some launch templates that are there; 0 = now.
func (f *Fleet) launchableIn(names []string) time.Duration {
	defer f.enter()()
	var longest time.Duration
	for _, name := range names {
		if t, exists := f.templates[name]; exists {
			longest = max(longest, f.options.TemplateLag-f.now().Sub(t.made))
		}
	}
	return longest
}

// knows reports whether EC2 knows an instance profile. It knows every name that nobody made here, and one that was made only after a
// while.
func (f *Fleet) knows(profile string) bool {
	if f.options.ProfileLag == 0 || f.profiles == nil {
		return true
	}
	made, there := f.profiles.since(profile)
	return !there || f.now().Sub(made) >= f.options.ProfileLag
}

// noProfile is what EC2 says of an instance profile that it does not know.
func noProfile(name string) string {
	return fmt.Sprintf("Value (%s) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name", name)
}

// DryRun answers whether the stored request would be carried out.
func (f *Fleet) DryRun(text []byte) error {
	defer f.enter()()
	if err := f.reach("DryRun"); err != nil {
		return err
	}
	var r request
	if err := json.Unmarshal(text, &r); err != nil {
		return fault.Wrap(fault.Invalid, "", err, "decode request")
	}
	for _, asked := range r.Templates {
		t, exists := f.templates[asked.Name]
		switch {
		case !exists: // one that was deleted only launches notice
		case !f.launchable(asked.Name):
			return fault.New(fault.Internal, codeTemplateGone, "CreateFleet: the launch template to try it with is gone")
		case !f.knows(t.profile):
			return refusal("InvalidParameterValue", "CreateFleet: %s", noProfile(t.profile))
		}
	}
	return nil
}

package facade

import (
	"fmt"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// newLogger writes to stderr, for people or for machines.
func newLogger(c Config) (*zap.Logger, error) {
	level, err := zapcore.ParseLevel(c.LogLevel)
	if err != nil {
		return nil, fmt.Errorf("--log-level: %w", err)
	}
	settings := zap.NewProductionConfig()
	if c.LogFormat == "console" {
		settings = zap.NewDevelopmentConfig()
		settings.Development, settings.DisableStacktrace = false, true
	}
	settings.Level, settings.DisableCaller = zap.NewAtomicLevelAt(level), true
	return settings.Build()
}
